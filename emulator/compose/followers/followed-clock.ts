import { type Clock, steadyTimeOfDay, type Wall } from "../../../src/base/clock.ts";
import { type ClockState, timeIn } from "../../clock/virtual-clock.ts";

/** Virtual time as the process that leads has written it down. */
export class FollowedClock implements Clock {
  readonly #wallNow: () => number;
  #state: ClockState | undefined;

  constructor(wall: Wall) {
    this.#wallNow = steadyTimeOfDay(wall);
  }

  take(state: ClockState | undefined): void {
    this.#state = state;
  }

  now(): number {
    const now = this.#wallNow();
    return this.#state ? timeIn(this.#state, now) : now;
  }
}
