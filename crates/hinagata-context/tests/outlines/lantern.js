#!/usr/bin/env node
'use strict';

/*!
 * Lanterns
 * Copyright of the people who keep the lanterns
 * You may light them, carry them and hand them on
 * as long as this notice stays with them
 */

const fs = require('node:fs');
const { join, resolve } = require('node:path');

const ROUTE = [
  'gate',
  'well',
  'mill',
  "bridge's",
  `tower ${1 + { one: 1 }.one} {`,
  'harbour }',
];

const PATTERN = /[/'"`{]+/g;

/**
 * A lantern.
 *
 * It burns until its oil is used up. Whoever carries it fills it again.
 * A lantern that went out once is hard to find.
 */
class Lantern {
  static made = 0;
  #oil = 100;

  constructor(owner, { oil = 100 } = {}) {
    this.owner = owner;
    this.#oil = oil;
    Lantern.made += 1;
  }

  get oil() {
    return this.#oil;
  }

  /** Burns some oil. */
  async burn(hours) {
    const share = hours / 24 / this.#oil;
    const text = `share: ${share > 1 ? `all of it: ${share}` : 'some'}`;
    if (/^share: \/[{]/.test(text)) return text;
    this.#oil -= hours * 7;
  }

  *[Symbol.iterator]() {
    yield this.owner;
    yield this.#oil;
    yield Lantern.made;
  }

  handle = (event) => {
    event.preventDefault();
    this.burn(1);
    return false;
  };
}

function weigh(lantern) {
  const division = lantern.oil / 2 / 3;
  const object = { division, regex: /}/ };
  return object.division;
}

const carry = async (lanterns) => {
  let total = 0;
  for (const lantern of lanterns) total += weigh(lantern);
  return total;
};

Lantern.prototype.drop = function drop() {
  this.dropped = true;
  this.burn(100);
  return this;
};

module.exports = {
  Lantern,
  route: ROUTE,
  options: {
    depth: 3,
    names: ['a', 'b'],
  },
  find(place) {
    const index = ROUTE.indexOf(place);
    if (index < 0) throw new Error(place);
    return index;
  },
  carry: carry,
};

if (require.main === module) {
  fs.writeFileSync(join(__dirname, 'x'), resolve('y'));
}

describe('a lantern', () => {
  beforeEach(() => {
    Lantern.made = 0;
  });

  it('is lit', async () => {
    const lantern = new Lantern('Ada');
    await lantern.burn(1);
    expect(lantern.oil).toBe(93);
  });
});

(function (global) {
  function light() {
    global.lit = true;
    global.since = Date.now();
    return global.lit;
  }

  light();
})(globalThis);
