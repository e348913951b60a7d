import type { RouterHandlers } from "./home.ts";
import { blackholeMails } from "./mailer-rows.ts";

export const mailerHandlers = {
  "mailer.blackhole": async ({ body }, { store, clock, request }) => {
    await store.transaction("mailer.blackhole", (tx) =>
      tx.put(blackholeMails, {
        id: tx.next("blackhole_mail"),
        received_at: clock.now(),
        content_type: request.headers["content-type"] ?? null,
        body_base64: body.toString("base64"),
      }),
    );
    return {};
  },
} satisfies RouterHandlers<"mailer.blackhole">;
