import type { RouterHandlers } from "../world.ts";
import { keepMail } from "./mailer-rows.ts";

export const mailerHandlers = {
  "mailer.blackhole": async ({ body }, { store, clock, request }) => {
    const mail = {
      received_at: clock.now(),
      content_type: request.headers["content-type"] ?? null,
      body_base64: body.toString("base64"),
    };
    await store.transaction("mailer.blackhole", (tx) => keepMail(tx, mail));
    return {};
  },
} satisfies RouterHandlers;
