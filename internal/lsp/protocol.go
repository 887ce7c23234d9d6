// The messages of the Language Server Protocol 3.17 that the server supports
// (microsoft.github.io/language-server-protocol). Positions count UTF-16 units.

package lsp

type position struct {
	Line      int `json:"line"`
	Character int `json:"character"`
}

type textRange struct {
	Start position `json:"start"`
	End   position `json:"end"`
}

type location struct {
	URI   string    `json:"uri"`
	Range textRange `json:"range"`
}

type textEdit struct {
	Range   textRange `json:"range"`
	NewText string    `json:"newText"`
}

type workspaceEdit struct {
	Changes  map[string][]textEdit `json:"changes,omitempty"`
	Document []any                 `json:"documentChanges,omitempty"` // createFile, fileEdit
}

type createFile struct {
	Kind string `json:"kind"` // create
	URI  string `json:"uri"`
}

type fileEdit struct {
	TextDocument struct {
		URI     string `json:"uri"`
		Version *int   `json:"version"` // null: as it is on disk
	} `json:"textDocument"`
	Edits []textEdit `json:"edits"`
}

type textDocument struct {
	URI     string `json:"uri"`
	Version int    `json:"version"`
	Text    string `json:"text"`
}

// params holds the parameters of all methods. Which are set depends on the method.
type params struct {
	TextDocument textDocument `json:"textDocument"`
	Position     position     `json:"position"`
	Range        textRange    `json:"range"`
	NewName      string       `json:"newName"`
	Title        string       `json:"title"` // of a code action, as Data is
	Data         string       `json:"data"`
	Init         struct {
		Lenses bool `json:"lenses"` // the editor has the commands of lenses
	} `json:"initializationOptions"`
	RootURI        string                 `json:"rootUri"`
	Folders        []struct{ URI string } `json:"workspaceFolders"`
	ContentChanges []struct {
		Range *textRange `json:"range"`
		Text  string     `json:"text"`
	} `json:"contentChanges"`
}

// folders returns the folders of the workspace.
func (p *params) folders() []string {
	var out []string
	for _, f := range p.Folders {
		out = append(out, pathOf(f.URI))
	}
	if len(out) == 0 && p.RootURI != "" {
		out = append(out, pathOf(p.RootURI))
	}
	return out
}

type diagnostic struct {
	Range    textRange `json:"range"`
	Severity int       `json:"severity"` // 1 error, 2 warning, 3 information
	Code     string    `json:"code"`
	Rule     *ruleLink `json:"codeDescription,omitempty"`
	Source   string    `json:"source"`
	Message  string    `json:"message"`
	Related  []related `json:"relatedInformation,omitempty"`
}

// ruleLink points to the description of a rule.
type ruleLink struct {
	Href string `json:"href"`
}

type related struct {
	Location location `json:"location"`
	Message  string   `json:"message"`
}

type published struct {
	URI         string       `json:"uri"`
	Version     int          `json:"version"`
	Diagnostics []diagnostic `json:"diagnostics"`
}

type markup struct {
	Kind  string `json:"kind"`
	Value string `json:"value"`
}

type hover struct {
	Contents markup    `json:"contents"`
	Range    textRange `json:"range"`
}

type completion struct {
	Label  string  `json:"label"`
	Kind   int     `json:"kind"` // 3 function, 5 field, 6 variable, 7 class, 13 enum, 14 keyword
	Detail string  `json:"detail,omitempty"`
	Doc    *markup `json:"documentation,omitempty"`
}

type codeAction struct {
	Title string         `json:"title"`
	Kind  string         `json:"kind"`
	Edit  *workspaceEdit `json:"edit,omitempty"`
	Data  string         `json:"data,omitempty"` // the file that codeAction/resolve makes the edit for
}

type documentSymbol struct {
	Name     string           `json:"name"`
	Detail   string           `json:"detail,omitempty"`
	Kind     int              `json:"kind"` // 5 class, 8 field, 12 function, 14 constant
	Range    textRange        `json:"range"`
	Select   textRange        `json:"selectionRange"`
	Children []documentSymbol `json:"children,omitempty"`
}

type highlight struct {
	Range textRange `json:"range"`
	Kind  int       `json:"kind"` // 2 read, 3 write
}

// capabilities returns the answer to initialize.
func capabilities(version string, lenses bool) map[string]any {
	can := map[string]any{
		"positionEncoding":           "utf-16",
		"textDocumentSync":           map[string]any{"openClose": true, "change": 2},
		"hoverProvider":              true,
		"completionProvider":         map[string]any{"triggerCharacters": []string{".", ":", " ", "{", "["}},
		"definitionProvider":         true,
		"referencesProvider":         true,
		"documentHighlightProvider":  true,
		"renameProvider":             map[string]any{"prepareProvider": true},
		"codeActionProvider":         map[string]any{"codeActionKinds": []string{"quickfix", "source"}, "resolveProvider": true},
		"documentSymbolProvider":     true,
		"documentFormattingProvider": true,
		"foldingRangeProvider":       true,
		"signatureHelpProvider":      map[string]any{"triggerCharacters": []string{"(", ","}},
		"semanticTokensProvider":     map[string]any{"full": true, "legend": map[string]any{"tokenTypes": tokenTypes, "tokenModifiers": []string{}}},
	}
	if lenses {
		can["codeLensProvider"] = map[string]any{}
	}
	return map[string]any{"capabilities": can, "serverInfo": map[string]any{"name": "graphrun", "version": version}}
}
