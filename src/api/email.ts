import * as z from "zod";
import { isEmailAddress } from "../base/email-address.ts";

/** An e-mail address, by the grammar that every part of svc has. */
export const email = z.stringFormat("email", isEmailAddress).meta({ format: "email" });
