fn lamp() {}
