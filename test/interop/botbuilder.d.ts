declare module "botframework-connector" {
  export interface Authentication {
    readonly isAuthentication: unique symbol;
  }

  export const BotFrameworkAuthenticationFactory: {
    create(
      channelService: string,
      validateAuthority: boolean,
      loginUrl: string,
      oauthScope: string,
      tokenIssuer: string,
      oauthUrl: string,
      channelMetadataUrl: string,
      emulatorMetadataUrl: string,
      callerId: string,
      credentials: PasswordServiceClientCredentialFactory,
      configuration: AuthenticationConfiguration,
      fetch: undefined,
      options: object,
    ): Authentication;
  };

  export class PasswordServiceClientCredentialFactory {
    constructor(appId: string, password: string);
  }

  export class AuthenticationConfiguration {}
}

declare module "botbuilder" {
  import type { IncomingHttpHeaders } from "node:http";
  import type { Authentication } from "botframework-connector";

  export interface Request {
    readonly body: Readonly<Record<string, unknown>>;
    readonly headers: IncomingHttpHeaders;
    readonly method: string | undefined;
  }

  export interface Response {
    readonly socket: unknown;
    status(code: number): void;
    header(name: string, value: unknown): void;
    send(body?: unknown): void;
    end(): void;
  }

  export class CloudAdapter {
    constructor(authentication: Authentication);
    process(
      request: Request,
      response: Response,
      logic: (turn: { readonly activity: { readonly text?: string } }) => Promise<void>,
    ): Promise<void>;
  }
}
