import { assumed } from "../../basis.ts";
import { control } from "../../failure.ts";

const ours = assumed("The control plane is the emulator's own.");

export const clockFailures = {
  "not-ahead": control({
    status: 400,
    when: "the time asked for does not lie ahead of the present virtual time",
    basis: ours,
    code: "not_ahead",
    says: ({ now }: { now: string }) => `Virtual time is ${now} already, and it never goes backwards.`,
    hint: "See `svc emulator clock`; `svc emulator reset` begins anew.",
  }),
  "too-far-ahead": control({
    status: 400,
    when: "the time asked for lies after the year 9999",
    basis: ours,
    code: "too_far_ahead",
    says: "Virtual time ends with the year 9999.",
  }),
  "advance-under-way": control({
    status: 409,
    when: "another call advances the clock just now",
    basis: ours,
    code: "advance_under_way",
    says: "The clock is being advanced by another call.",
    hint: "Wait for its answer, then try again.",
  }),
  "delivery-under-way": control({
    status: 409,
    when: "a delivery that was due before waits for its receiver, and none has ended for a second",
    basis: ours,
    code: "delivery_under_way",
    says: "A receiver has not responded to a webhook for 1 s. The clock was not advanced.",
    hint: "A receiver that advances the clock must respond to the webhook first. Otherwise try again.",
  }),
};
