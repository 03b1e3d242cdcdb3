console=ttyS0 reboot=t panic=-1
