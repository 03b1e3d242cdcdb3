console=ttyS0 reboot=t panic=-1 no_timer_check
