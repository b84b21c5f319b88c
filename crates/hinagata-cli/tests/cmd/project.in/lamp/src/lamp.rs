fn light() {}
