// Tasks, branches and joins in snapshots.

package machine

// savedTask is task. Failures, expiries and fan-outs, which several may share,
// go by their place in a table or by their number.
type savedTask struct {
	Node    int        `json:"node"`
	At      savedPlace `json:"at,omitzero"`
	Entered bool       `json:"entered,omitempty"`
	Visit   int        `json:"visit,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Step    int        `json:"step,omitempty"`
	Status  taskStatus `json:"status,omitempty"`

	Skipped  bool `json:"skipped,omitempty"`
	Cached   bool `json:"cached,omitempty"`
	WaitsFor bool `json:"waits_for,omitempty"`
	Joined   bool `json:"joined,omitempty"`
	Merged   bool `json:"merged,omitempty"`
	Due      bool `json:"due,omitempty"`
	Released bool `json:"released,omitempty"`
	Held     bool `json:"held,omitempty"`
	Lost     bool `json:"lost,omitempty"`
	Uncaught bool `json:"uncaught,omitempty"`
	// Tried are element, block and count.
	Tried [][3]int `json:"tried,omitempty"`

	Cause      *int            `json:"cause,omitempty"`
	Led        *int            `json:"led,omitempty"`
	Input      any             `json:"input,omitempty"`
	Source     int             `json:"source,omitempty"`
	Inputs     []savedInput    `json:"inputs,omitempty"`
	Began      int64           `json:"began,omitempty"`
	Order      int             `json:"order,omitempty"`
	Output     any             `json:"output,omitempty"`
	Failure    *int            `json:"failure,omitempty"`
	Writes     []savedWrite    `json:"writes,omitempty"`
	Choice     *savedChoice    `json:"choice,omitempty"`
	Each       *savedEach      `json:"each,omitempty"`
	Branches   map[string]any  `json:"branches,omitzero"`
	Until      int64           `json:"until,omitempty"`
	Ends       int64           `json:"ends,omitempty"`
	Asked      *savedQuestions `json:"asked,omitempty"`
	Expired    *int            `json:"expired,omitempty"`
	FirstRoute int             `json:"first_route,omitempty"`
	LastRoute  int             `json:"last_route,omitempty"`
	Calls      *callCounts     `json:"calls,omitempty"`
	// Thread is a place in the table of threads, from 1.
	Thread int `json:"thread,omitempty"`
}

// savedPlace is place: the number of a fan-out and a lane; 0 is the run itself.
type savedPlace struct {
	Fan  int `json:"fan"`
	Lane int `json:"lane"`
}

type savedInput struct {
	Node  int `json:"node"`
	Value any `json:"value,omitempty"`
}

type savedWrite struct {
	Key    int  `json:"key"`
	Update any  `json:"update,omitempty"`
	Lost   bool `json:"lost,omitempty"`
}

type savedChoice struct {
	Edge      int    `json:"edge"`
	Failure   *int   `json:"failure,omitempty"`
	Reasoning string `json:"reasoning,omitempty"`
}

// savedEach is eachState. Maps by element are lists in element order.
type savedEach struct {
	Items       []any          `json:"items"`
	Results     []any          `json:"results"`
	Next        int            `json:"next"`
	Again       []int          `json:"again,omitempty"`
	Running     []savedElement `json:"running,omitempty"`
	Attempts    [][3]int64     `json:"attempts,omitempty"`
	Asking      []savedElement `json:"asking,omitempty"`
	Answered    []savedElement `json:"answered,omitempty"`
	Failed      int            `json:"failed,omitempty"`
	Failure     *int           `json:"failure,omitempty"`
	Lowest      *int           `json:"lowest,omitempty"`
	LowestIndex int            `json:"lowest_index,omitempty"`
	Tolerate    bool           `json:"tolerate,omitempty"`
	Talk        []savedTalk    `json:"talk,omitempty"`
	Cut         *savedCut      `json:"cut,omitempty"`
}

// savedCut is eachCut.
type savedCut struct {
	Next     int            `json:"next"`
	Again    []int          `json:"again,omitempty"`
	Attempts [][3]int64     `json:"attempts,omitempty"`
	Asking   []savedElement `json:"asking,omitempty"`
	Running  []savedElement `json:"running,omitempty"`
	Failed   []savedElement `json:"failed,omitempty"`
}

type savedElement struct {
	Element int             `json:"element"`
	Attempt int             `json:"attempt"`
	Cause   *int            `json:"cause,omitempty"`
	Asked   *savedQuestions `json:"asked,omitempty"`
	Ends    int64           `json:"ends,omitempty"`
}

type savedQuestions struct {
	Questions []savedQuestion `json:"questions,omitempty"`
	Any       bool            `json:"any,omitempty"`
	At        *Breakpoint     `json:"at,omitempty"`
	Steps     int             `json:"steps,omitempty"`
	Waiting   int             `json:"waiting,omitempty"`
	Woken     bool            `json:"woken,omitempty"`
	Until     int64           `json:"until,omitempty"`
	Ends      int64           `json:"ends,omitempty"`
}

// savedQuestion is question; the schema of its Ask is written like other data.
type savedQuestion struct {
	Ask        Ask            `json:"ask"`
	Document   map[string]any `json:"document"`
	Fallback   any            `json:"fallback,omitempty"`
	HasDefault bool           `json:"has_default,omitempty"`
	Settled    bool           `json:"settled,omitempty"`
	Answer     any            `json:"answer,omitempty"`
	Failure    *int           `json:"failure,omitempty"`
}

type savedFanout struct {
	ID       int         `json:"id"`
	Origin   int         `json:"origin"`
	At       savedPlace  `json:"at,omitzero"`
	Depth    int         `json:"depth"`
	Policy   string      `json:"policy"`
	Live     int         `json:"live"`
	Ended    bool        `json:"ended,omitempty"`
	Dead     bool        `json:"dead,omitempty"`
	Failures []savedLost `json:"failures,omitempty"`
	Auto     int         `json:"auto"`
	First    []int       `json:"first"`
	Began    int64       `json:"began,omitempty"`
	// Again holds pairs of lane and time.
	Again  [][2]int64 `json:"again,omitempty"`
	Thread int        `json:"thread,omitempty"`
}

// savedLost is a branch that failed.
type savedLost struct {
	Failure int  `json:"failure"`
	Lane    int  `json:"lane,omitempty"`
	Order   int  `json:"order,omitempty"`
	Told    bool `json:"told,omitempty"`
}

type savedBarrier struct {
	Node     int            `json:"node"`
	Fan      int            `json:"fan,omitempty"`
	Arrivals []savedArrival `json:"arrivals"`
	Detours  []savedDetour  `json:"detours,omitempty"`
}

type savedDetour struct {
	Node   int          `json:"node"`
	Places []savedPlace `json:"places"`
	Passed []int        `json:"passed,omitempty"`
}

type savedArrival struct {
	At     savedPlace `json:"at,omitzero"`
	Source int        `json:"source"`
	Input  any        `json:"input,omitempty"`
	Output any        `json:"output,omitempty"`
	Thread int        `json:"thread,omitempty"`
	Over   int        `json:"over,omitempty"`
}

type savedExpiry struct {
	Branch  savedPlace `json:"branch"`
	Failure *int       `json:"failure,omitempty"`
	Order   int        `json:"order,omitempty"`
	Settled bool       `json:"settled,omitempty"`
}

type savedRoute struct {
	Task  int  `json:"task"`
	Edge  int  `json:"edge"`
	To    int  `json:"to"`
	Input any  `json:"input,omitempty"`
	Own   bool `json:"own,omitempty"`
}
