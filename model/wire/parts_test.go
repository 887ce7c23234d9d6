package wire

import (
	"strings"
	"testing"

	"github.com/graphrun/graphrun/model"
)

func TestTakes(t *testing.T) {
	png := model.Part{Kind: model.ImagePart, Type: "image/png", Data: strings.Repeat("QUJD", 10)}
	tiff := model.Part{Kind: model.ImagePart, Type: "image/tiff", Data: "QUJD"}
	pdf := model.Part{Kind: model.FilePart, Type: "application/pdf", Data: "QUJD", Name: "a.pdf"}
	notes := model.Part{Kind: model.FilePart, Type: "text/plain", Data: "QUJD"}
	linked := model.Part{Kind: model.FilePart, URL: "https://example.org/a.pdf"}
	sound := model.Part{Kind: model.AudioPart, Type: "audio/wav", Data: "QUJD"}
	all := PartLimits{Images: PhotoTypes(), ImageURLs: true, Files: []string{"application/pdf"}, FileURLs: true, Audio: []string{"audio/wav"}}
	images := PartLimits{Images: PhotoTypes()}
	for _, test := range []struct {
		name  string
		takes PartLimits
		parts []model.Part
		want  string // of the refusal; "": none
	}{
		{"all", all, []model.Part{png, pdf, notes, linked, sound, {Kind: model.TextPart, Text: "a"}}, ""},
		{"type", all, []model.Part{png, tiff}, "the image image/tiff can't be sent to this model: it is image/tiff; taken are image/gif, image/jpeg, image/png, image/webp"},
		{"no files", images, []model.Part{pdf}, `the file a.pdf can't be sent to this model: its protocol takes no file`},
		{"no text files", images, []model.Part{notes}, "its protocol takes no file"},
		{"no audio", images, []model.Part{sound}, "its protocol takes no audio"},
		{"no addresses", images, []model.Part{{Kind: model.ImagePart, URL: "https://example.org/a.png"}}, "its protocol takes no addresses of these"},
		{"size", PartLimits{Images: PhotoTypes(), MaxImageBytes: 29}, []model.Part{png}, "it has 0.0 MB; an image may have"},
		{"size that fits", PartLimits{Images: PhotoTypes(), MaxImageBytes: 30}, []model.Part{png}, ""},
		{"together", PartLimits{Images: PhotoTypes(), MaxTotalBytes: 59}, []model.Part{png, png}, "the parts of the conversation have"},
		{"together that fits", PartLimits{Images: PhotoTypes(), MaxTotalBytes: 60}, []model.Part{png, png}, ""},
	} {
		err := test.takes.Check([]model.Message{{Role: model.User, Parts: test.parts[:1]}, {Role: model.ToolResult, Parts: test.parts[1:]}})
		got := ""
		if failed, ok := err.(*model.Error); ok {
			if got = failed.Message; failed.Kind != "invalid_input" {
				t.Errorf("%s: kind %s", test.name, failed.Kind)
			}
		}
		if (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
