module hinagata/bench/godaemon

go 1.27
