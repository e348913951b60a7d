// A web app with passport-openidconnect as its page shows it, and a browser that signs in there.
import { once } from "node:events";
import express from "express";
import session from "express-session";
import passport from "passport";
import OpenIDConnectStrategy from "passport-openidconnect";

const { ROUTER_URL: issuer = "" } = process.env;
const at = (path) => `${issuer}${path}`;
const app = express();
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const own = `http://127.0.0.1:${server.address().port}`;

app.use(session({ secret: "of the app", resave: false, saveUninitialized: false }));
app.use(passport.initialize());
const strategy = {
  issuer,
  authorizationURL: at("/api/v1/oauth/authorize/"),
  tokenURL: at("/api/v1/oauth/token/"),
  userInfoURL: at("/api/v1/oauth/userinfo/"),
  clientID: "portal",
  clientSecret: "s3cret:+%",
  callbackURL: `${own}/callback`,
  scope: ["profile", "email"],
};
passport.use(new OpenIDConnectStrategy(strategy, (iss, profile, done) => done(null, { iss, profile })));
app.get("/login", passport.authenticate("openidconnect"));
app.get(
  "/callback",
  passport.authenticate("openidconnect", { session: false, failWithError: true }),
  (request, response) => response.json(request.user),
);
app.use((error, _request, response, _next) => response.status(500).json({ error: String(error) }));

const begun = await fetch(`${own}/login`, { redirect: "manual" });
const cookie = begun.headers.get("set-cookie").split(";")[0];
const link = new URL(begun.headers.get("location"));
link.searchParams.set("svc_user", "ada@northwind.example");
const back = await fetch(link, { redirect: "manual" });
const answer = await fetch(back.headers.get("location"), { headers: { cookie } });
process.stdout.write(JSON.stringify({ status: answer.status, body: await answer.json() }));
server.close();
server.closeAllConnections();
