import type { Person } from "../../webhooks/payload.ts";
import type { Member } from "../world.ts";

/** The caller, as payloads name who did something. */
export const performer = ({ user }: Member): Person => ({ name: user.name, email: user.email });
