// .NET 8 or later, in a project of `dotnet new web`: SVC_WEBHOOK_HMAC_KEY=… PORT=3000 dotnet run
using System.Collections.Concurrent;
using System.Security.Cryptography;
using System.Text;

var key = Convert.FromBase64String(Environment.GetEnvironmentVariable("SVC_WEBHOOK_HMAC_KEY")!);
var port = Environment.GetEnvironmentVariable("PORT") ?? "3000";
var seen = new ConcurrentDictionary<string, bool>();
var app = WebApplication.CreateBuilder(args).Build();

app.MapPost("/hooks", async (HttpRequest request) =>
{
    using var stream = new MemoryStream();
    await request.Body.CopyToAsync(stream);
    var body = stream.ToArray();
    var expected = Convert.ToHexString(HMACSHA512.HashData(key, body)).ToLowerInvariant();
    var given = request.Headers["X-SVC-WEBHOOK-CONTENT-HASH"].ToString();
    if (!CryptographicOperations.FixedTimeEquals(Encoding.UTF8.GetBytes(expected), Encoding.UTF8.GetBytes(given)))
    {
        return Results.StatusCode(401);
    }
    if (seen.TryAdd(expected, true))
    {
        // Store first, respond then, and do the work afterwards. A real receiver stores the ID, too.
        lock (seen) File.AppendAllText("events.jsonl", Encoding.UTF8.GetString(body) + "\n");
    }
    return Results.StatusCode(204);
});

app.Run($"http://127.0.0.1:{port}");
