package script

import "syscall"

// endWithUs makes the kernel kill the program when its starting thread ends, as when we are killed.
func endWithUs(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
