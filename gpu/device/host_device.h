// Functions that run on the CPU and on GPUs alike are marked XXL_HOST_DEVICE.
#pragma once

#ifdef __CUDACC__
#define XXL_HOST_DEVICE __host__ __device__
#else
#define XXL_HOST_DEVICE
#endif
