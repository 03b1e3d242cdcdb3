console=ttyS0 reboot=t no_timer_check
