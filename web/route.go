package web

import "net/http"

// route says which addresses are the page's. Those of resources are their names.
func (s *Site) route() {
	s.mux.HandleFunc("GET /assets/{hash}/{name}", s.serveAsset)
	s.mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, assetPath("icon.svg"), http.StatusFound)
	})
	s.mux.Handle("GET /{$}", s.show(s.overview))

	const topic, subscription = "/projects/{project}/topics/{topic}", "/projects/{project}/subscriptions/{subscription}"
	s.mux.Handle("GET "+topic, s.show(s.topic))
	s.mux.Handle("GET "+topic+"/publish", s.show(s.publishing))
	s.mux.HandleFunc("POST "+topic+"/publish", s.publish)
	s.mux.Handle("GET "+topic+"/dead-letters", s.show(s.deadLetters))
	s.mux.Handle("GET "+topic+"/dead-letters/{letter}", s.show(s.deadLetter))
	s.mux.HandleFunc("POST "+topic+"/dead-letters/review", s.review)
	s.mux.HandleFunc("POST "+topic+"/dead-letters/redrive", s.beginWork)
	s.mux.HandleFunc("POST "+topic+"/dead-letters/purge", s.beginWork)
	s.mux.Handle("GET /operations", s.show(s.operations))
	s.mux.Handle("GET /projects/{project}/operations/{operation}", s.show(s.operation))
	s.mux.HandleFunc("POST /projects/{project}/operations/{operation}/stop", s.stopOperation)
	s.mux.Handle("GET "+subscription, s.show(s.subscription))
	s.mux.Handle("GET "+subscription+"/messages", s.show(s.messages))
	s.mux.HandleFunc("GET "+subscription+"/charts/{graph}/{scheme}", s.chart)
	s.mux.HandleFunc("POST "+subscription+"/close-breaker", s.closeBreaker)
	s.mux.HandleFunc("POST "+subscription+"/unblock", s.unblock)
}
