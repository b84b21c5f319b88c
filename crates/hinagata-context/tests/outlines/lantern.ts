/** Lanterns. */
import { Injectable } from './container';

export type Place = 'gate' | 'well' | 'mill';
export type Visit<T> = {
  place: Place;
  after: Visit<T>[];
  take(lantern: T): void;
};

export abstract class Carrier<T extends object = {}> {
  protected readonly places = new Map<Place, T>();

  abstract visit(place: Place): Visit<T>;

  carry(
    lantern: T,
    place: Place,
  ): { place: Place; done: boolean } {
    const known = <T>this.places.get(place);
    this.places.set(place, lantern);
    return { place, done: known !== undefined };
  }

  static of<U extends object>(this: new () => U): U {
    const made = new this();
    Object.freeze(made);
    return made;
  }
}

export namespace Route {
  export const places: Place[] = ['gate', 'well'];

  export function next(place: Place): Place | undefined {
    const index = places.indexOf(place);
    const { length } = places;
    return places[(index + 1) % length];
  }
}

export interface Registry {
  [place: string]: Place;
  new (size: number): Registry;
  find(place: Place): Visit<object> | undefined;
}

@Injectable({
  providers: ['route'],
  scope: 'night',
})
export class Night extends Carrier {
  override visit(place: Place) {
    const value = { place, after: [], take: () => undefined };
    this.places.clear();
    return value;
  }
}

export const light = async <T extends object>(lantern: T): Promise<T> => {
  await Promise.resolve();
  const lit = { ...lantern, lit: true };
  return lit;
};
