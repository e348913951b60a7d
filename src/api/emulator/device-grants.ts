import * as z from "zod";
import { defineOperation, form, html, json } from "../operation.ts";
import { controlOperation } from "../services.ts";
import { email, optionalString } from "../shapes.ts";
import { Device } from "./shapes.ts";

const basis = { assumed: "The approval of a device belongs to the cluster. The control plane emulates it." };

const ClusterOfDecision = optionalString.describe(
  "Cluster that decides (default: the cluster of the user code, of the e-mail address, or the first)",
);

export const listDevices = defineOperation({
  id: "device-grants.list",
  ...controlOperation,
  summary: "List the devices that await or got approval",
  description: "Devices with expired or redeemed codes are removed over time.",
  path: "/_emulator/device-grants",
  responses: { 200: json(z.array(Device)) },
  cli: {
    command: "emulator devices",
    columns: ["user_code", "client_id", "status", "cluster_id", "expires_at", "redeemed"],
  },
  basis,
  examples: [{ title: "List the devices" }],
});

export const approveDevice = defineOperation({
  id: "device-grants.approve",
  ...controlOperation,
  summary: "Approve or deny a device, as a user would",
  method: "POST",
  path: "/_emulator/device-grants/{user_code}",
  request: {
    params: z.object({
      user_code: z.string().describe("User code that the device shows; case and hyphen are ignored"),
    }),
    body: json(
      z.object({
        status: z.enum(["AUTHORIZED", "DENIED"]).describe("Decision of the person"),
        cluster_id: ClusterOfDecision,
        email: email.optional().describe("Approver (default: the acting user of the first workspace)"),
      }),
    ),
  },
  responses: { 200: json(z.strictObject({ user_code: z.string(), status: z.string(), cluster_id: z.string() })) },
  failures: [
    "no-such-user-code",
    "user-code-expired",
    "user-code-decided",
    "user-code-bound",
    "no-such-cluster-here",
    "no-such-user",
  ],
  cli: { by: "emulator device approve" },
  basis,
  examples: [
    {
      title: "Approve as Ada",
      params: { user_code: "WDJB-MJHT" },
      body: { status: "AUTHORIZED", email: "ada@northwind.example" },
    },
  ],
});

export const showDevicePage = defineOperation({
  id: "device-grants.page",
  ...controlOperation,
  summary: "Show the page on which a person approves a device",
  path: "/_emulator/device",
  auth: "none",
  request: { query: z.object({ user_code: optionalString.describe("User code that the device shows") }) },
  responses: { 200: html() },
  cli: { command: "emulator device-page" },
  basis,
  examples: [{ title: "Show the page of one device", query: { user_code: "WDJB-MJHT" } }],
});

export const submitDevicePage = defineOperation({
  id: "device-grants.submit",
  ...controlOperation,
  summary: "Send the form of the device page",
  method: "POST",
  path: "/_emulator/device",
  auth: "none",
  request: {
    body: form(
      z.object({
        user_code: z.string().describe("User code that the device shows"),
        status: z.enum(["AUTHORIZED", "DENIED"]).describe("Decision of the person"),
        cluster_id: ClusterOfDecision,
        email: optionalString.describe("E-mail address of the approver; may be empty"),
        form_token: z.string().describe("Form token of the page"),
      }),
    ),
  },
  responses: { 200: html() },
  failures: ["stale-form"],
  cli: { command: "emulator device-form" },
  basis,
  examples: [
    {
      title: "Approve, with the form_token of svc emulator device-page",
      body: { user_code: "WDJB-MJHT", status: "AUTHORIZED", form_token: "f0c1" },
    },
  ],
});
