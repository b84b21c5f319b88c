module hinagata/bench/gotemplate

go 1.27
