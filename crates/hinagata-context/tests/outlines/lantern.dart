import 'dart:io';

typedef Visit = bool Function(String place);

const route = ['gate', 'well', 'mill ${'{'}'];

/// A lantern.
class Lantern extends Object with Shines implements Comparable<Lantern> {
  final String owner;
  int _oil = 100;

  Lantern(this.owner);

  Lantern.empty(this.owner) : _oil = 0 {
    print('made }');
    print("it's dark");
    stdout.flush();
  }

  bool get isLit => _oil > 0;

  set oil(int value) {
    if (value < 0) throw ArgumentError();
    _oil = value;
    print(value);
  }

  Future<int> burn(int hours, {String season = 'summer'}) async {
    await Future.value();
    _oil -= hours * 7;
    return _oil;
  }

  @override
  int compareTo(Lantern other) => _oil.compareTo(other._oil);

  static String help() => '''
    usage: 'lantern' {
  ''';
}

enum Season { summer, winter }

mixin Shines on Object {
  bool shines();
}

extension Drop on Lantern {
  void drop(String place) {
    print(place);
    oil = 0;
    print(this);
  }
}

void main(List<String> arguments) {
  final lantern = Lantern('Ada');
  print(lantern.isLit);
  exit(0);
}
