// .NET 8 or later, as Program.cs of `dotnet new console`: SVC_WEBHOOK_HMAC_KEY=… dotnet run
using System;
using System.Collections.Generic;
using System.IO;
using System.Net;
using System.Security.Cryptography;
using System.Text;
using System.Threading.Tasks;

static class Receiver
{
    static readonly byte[] key = Convert.FromBase64String(Environment.GetEnvironmentVariable("SVC_WEBHOOK_HMAC_KEY"));
    static readonly string port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
    static readonly HashSet<string> seen = new HashSet<string>();

    static void Main()
    {
        var listener = new HttpListener { Prefixes = { $"http://127.0.0.1:{port}/" } };
        listener.Start();
        while (true) _ = Respond(listener.GetContext());
    }

    static async Task Respond(HttpListenerContext context)
    {
        await Task.Yield(); // Main continues with the next request.
        var body = new MemoryStream();
        await context.Request.InputStream.CopyToAsync(body);
        var hash = new HMACSHA512(key).ComputeHash(body.ToArray());
        var expected = Encoding.ASCII.GetBytes(BitConverter.ToString(hash).Replace("-", "").ToLowerInvariant());
        var given = context.Request.Headers["X-SVC-WEBHOOK-CONTENT-HASH"] ?? "";
        var isGenuine = CryptographicOperations.FixedTimeEquals(expected, Encoding.ASCII.GetBytes(given));
        // Store first, then respond, and do the work afterwards. A real receiver stores the ID, too.
        var line = Encoding.UTF8.GetString(body.ToArray()) + "\n";
        lock (seen)
            if (isGenuine && !seen.Contains(given)) { File.AppendAllText("events.jsonl", line); seen.Add(given); }
        context.Response.StatusCode = isGenuine ? 200 : 401;
        context.Response.Close(new byte[0], false);
    }
}
