panic=-1
