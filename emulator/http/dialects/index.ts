import type { Service } from "../../../src/api/services.ts";
import { control } from "./control.ts";
import type { Dialect } from "./dialect.ts";
import { fastapi } from "./fastapi.ts";
import { platform } from "./platform.ts";

export const dialects: Readonly<Record<Service["dialect"], Dialect>> = { fastapi, platform, control };
