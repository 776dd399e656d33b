// STXXL's names, for programs written for STXXL 1.4.
//
//   #include <xxl/stxxl.h>      in place of <stxxl/sorter>, <stxxl/stream>, <stxxl/vector>, ...
//
// Their own include lines work as well, with -I .../xxl/in_place_of_stxxl: each file there includes
// this one.
//
// The following works as STXXL documents it: sorter, sort, ksort, stream::*, priority_queue, vector
// with its readers and writers, deque, queue, stack, scans, random numbers, tuples, config, stats.
// Block and page sizes, allocation strategies, pagers and the min_value() and max_value() of
// comparators are accepted and not used. Disks of the configuration ($STXXLCFG, .stxxl,
// config::add_disk) become scratch directories: the directories of their files. Sorting uses all
// cores. Missing names fail to compile with a message.
//
// Comparators are called by many threads at once, and must be const. Those of priority_queue must
// not throw.
//
// Source of the interface: Dementiev, Kettner and Sanders, "STXXL: standard template library for
// XXL data sets" (Software: Practice and Experience, 2008), and the headers of STXXL 1.4.1.
#pragma once

#ifdef STXXL_VERSION_HEADER
#error "<xxl/stxxl.h> and the headers of STXXL declare the same names: include only one of them"
#endif

#include "xxl/stxxl/absent.h"
#include "xxl/stxxl/cmdline.h"
#include "xxl/stxxl/config.h"
#include "xxl/stxxl/deque.h"
#include "xxl/stxxl/file.h"
#include "xxl/stxxl/messages.h"
#include "xxl/stxxl/priority_queue.h"
#include "xxl/stxxl/random.h"
#include "xxl/stxxl/runs.h"
#include "xxl/stxxl/scan.h"
#include "xxl/stxxl/sort.h"
#include "xxl/stxxl/sorter.h"
#include "xxl/stxxl/stats.h"
#include "xxl/stxxl/stream.h"
#include "xxl/stxxl/tuple.h"
#include "xxl/stxxl/uint_types.h"
#include "xxl/stxxl/utils.h"
#include "xxl/stxxl/vector.h"
#include "xxl/stxxl/vector_buffers.h"
