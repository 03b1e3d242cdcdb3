panic_on_warn=1
