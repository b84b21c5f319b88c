fn desk() {}
