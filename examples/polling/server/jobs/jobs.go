// Package jobs is a small server of jobs that finish after a few polls.
package jobs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
)

// pollsToDone is how often a job is asked about until it is done.
const pollsToDone = 3

// job is what the server knows of one job.
type job struct {
	polls, fetches int
}

// server keeps jobs in memory. It is safe for concurrent use.
type server struct {
	mu   sync.Mutex // guards jobs
	jobs map[string]*job
}

// New returns a server: POST /jobs starts a job, GET /jobs/{id} tells its
// status (queued, running, done) and percent, GET /jobs/{id}/result its
// result, which answers 503 the first time.
func New() http.Handler {
	s := &server{jobs: map[string]*job{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /jobs", s.submit)
	mux.HandleFunc("GET /jobs/{id}", s.status)
	mux.HandleFunc("GET /jobs/{id}/result", s.result)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header()["Date"] = nil // answers are the same from run to run
		mux.ServeHTTP(w, r)
	})
}

func (s *server) submit(w http.ResponseWriter, _ *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := fmt.Sprintf("job-%d", len(s.jobs)+1)
	s.jobs[id] = &job{}
	answer(w, http.StatusAccepted, map[string]any{"id": id})
}

func (s *server) status(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[r.PathValue("id")]
	if j == nil {
		answer(w, http.StatusNotFound, map[string]any{"error": "no such job"})
		return
	}
	j.polls++
	status := "running"
	switch {
	case j.polls >= pollsToDone:
		status = "done"
	case j.polls == 1:
		status = "queued"
	}
	answer(w, http.StatusOK, map[string]any{"status": status, "percent": min(j.polls, pollsToDone) * 100 / pollsToDone})
}

func (s *server) result(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	j := s.jobs[r.PathValue("id")]
	switch {
	case j == nil || j.polls < pollsToDone:
		answer(w, http.StatusNotFound, map[string]any{"error": "no result"})
	case j.fetches == 0:
		j.fetches++
		answer(w, http.StatusServiceUnavailable, map[string]any{"error": "not yet"})
	default:
		answer(w, http.StatusOK, map[string]any{"stars": 4711})
	}
}

func answer(w http.ResponseWriter, status int, body map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // the client is gone: nobody to tell
}
