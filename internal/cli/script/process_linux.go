package script

import "syscall"

// endWithUs makes the kernel kill the program when the thread that starts it ends, as it does when we are killed.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
