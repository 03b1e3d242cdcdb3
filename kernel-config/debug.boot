panic_on_warn=1 oops=panic
