// undici's entry loads WebSocket, fetch, caches and mocks, and completes its dispatchers with methods; neither a
// short-lived client nor an emulator needs more than a few of its modules, nor any of these methods.
declare module "undici/lib/core/errors.js" {
  import { errors } from "undici";
  export = errors;
}
declare module "undici/lib/dispatcher/agent.js" {
  import { Agent } from "undici";
  export = Agent;
}
declare module "undici/lib/dispatcher/pool.js" {
  import { Pool } from "undici";
  export = Pool;
}
declare module "undici/lib/dispatcher/proxy-agent.js" {
  import { ProxyAgent } from "undici";
  export = ProxyAgent;
}
declare module "undici/lib/api/api-connect.js" {
  import type { Dispatcher } from "undici";

  function connect(this: Dispatcher, options: Dispatcher.ConnectOptions): Promise<Dispatcher.ConnectData>;
  export = connect;
}

declare module "undici/lib/core/connect.js" {
  import { buildConnector } from "undici";
  export = buildConnector;
}
