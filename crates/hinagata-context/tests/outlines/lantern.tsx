import React, { useState } from 'react';
import type { Lantern } from './lantern';

export type Props = {
  lantern: Lantern;
  onDrop?: (place: string) => void;
};

export enum Season {
  Summer,
  Winter = 'winter',
}

interface Carrier<L extends { oil: number } = Lantern> {
  readonly lanterns: L[];
  carry(place: string, hours?: number): Promise<void>;
  drop<T = never>(
    lantern: L,
    place: T,
  ): void;
}

function first<T,>(items: T[]): T | undefined;
function first<T,>(items: T[]): T | undefined {
  const [item] = items;
  if (!item) return undefined;
  return item;
}

/** Shows a lantern. */
export function LanternView({ lantern, onDrop }: Props): JSX.Element {
  const [hours, setHours] = useState<number>(0);
  const limit = hours < 3 && hours > 1;
  return (
    <section className="lantern" data-oil={lantern.oil}>
      <>
        <p>It's {lantern.owner}'s lantern {'{'}</p>
        {limit ? <b title="don't">too long</b> : null}
        <input value={hours} onChange={(event) => { setHours(Number(event.target.value)); }} />
      </>
      {/* a comment with ' in it */}
      <button disabled={!onDrop} onClick={() => onDrop?.('here')}>Don't</button>
    </section>
  );
}

export const Row = React.memo(({ lantern }: Props) => {
  if (!lantern) {
    return <hr />;
  }
  return <li>{first([lantern])?.owner}</li>;
});

export default class Shelf extends React.Component<Props> implements Carrier {
  lanterns: Lantern[] = [];

  @bound({ once: true })
  async carry(place: string): Promise<void> {
    const value = place as unknown as string;
    await Promise.resolve(value);
    this.forceUpdate();
  }

  private drop = (lantern: Lantern): void => {
    const index = this.lanterns.indexOf(lantern);
    this.lanterns.splice(index, 1);
    this.forceUpdate();
  };

  render() { return <LanternView lantern={this.lanterns[0]!} />; }
}

declare module './lantern' {
  export function light(lantern: Lantern): boolean;
}
