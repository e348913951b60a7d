import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is part of the emulator.");

export const clockFailures = {
  "not-ahead": control({
    status: 400,
    when: "the requested time is not after the current virtual time",
    basis: ours,
    code: "not_ahead",
    says: ({ now }: { now: string }) => `Virtual time is already ${now} and cannot go backwards.`,
    hint: "Choose a time after it. To start again, run `svc emulator reset`.",
  }),
  "too-far-ahead": control({
    status: 400,
    when: "the requested time is after the year 9999",
    basis: ours,
    code: "too_far_ahead",
    says: "Virtual time ends with the year 9999.",
  }),
  "advance-under-way": control({
    status: 409,
    when: "another request is advancing the clock",
    basis: ours,
    code: "advance_under_way",
    says: "Another request is advancing the clock.",
    hint: "Wait until it completes, then try again.",
  }),
  "delivery-under-way": control({
    status: 409,
    when: "a receiver has not responded to an earlier delivery for a second",
    basis: ours,
    code: "delivery_under_way",
    says: "A receiver has not responded to a webhook for 1 s. The clock was not advanced.",
    hint: "If the receiver advances the clock, let it respond to the webhook first. Otherwise try again.",
  }),
};
