// Go 1.22 or later: SVC_WEBHOOK_HMAC_KEY=… PORT=3000 go run receiver.go
package main

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"os"
	"sync"
)

func main() {
	key, err := base64.StdEncoding.DecodeString(os.Getenv("SVC_WEBHOOK_HMAC_KEY"))
	if err != nil || len(key) == 0 {
		log.Fatal("SVC_WEBHOOK_HMAC_KEY is required: the output of svc webhooks hmac-key")
	}
	file, _ := os.OpenFile("events.jsonl", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	var seen sync.Map
	http.HandleFunc("POST /hooks", func(w http.ResponseWriter, r *http.Request) {
		mac := hmac.New(sha512.New, key)
		body, err := io.ReadAll(io.TeeReader(http.MaxBytesReader(w, r.Body, 5<<20), mac))
		expected := hex.EncodeToString(mac.Sum(nil))
		if err != nil || !hmac.Equal([]byte(expected), []byte(r.Header.Get("X-SVC-WEBHOOK-CONTENT-HASH"))) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if _, isKnown := seen.LoadOrStore(expected, true); !isKnown {
			// Store first, then respond, and do the work afterwards. A real receiver stores the ID, too.
			if err := json.NewEncoder(file).Encode(json.RawMessage(body)); err != nil {
				log.Fatal(err)
			}
		}
	})
	log.Fatal(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), nil))
}
