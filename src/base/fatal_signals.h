// What has to be done when a signal ends the program: SIGINT, SIGTERM, SIGXCPU and the like.
#pragma once

namespace xxl {

// From now on, calls `action` before such a signal ends the program; it may do only what a signal
// handler may. Signals that are ignored (nohup), or that the program handles itself, are left
// alone. There may be a few actions; one given twice is called once. From any thread.
void on_fatal_signal(void (*action)());

}  // namespace xxl
