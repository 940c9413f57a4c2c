package web

import (
	"encoding/base64"
	"net/http"
	"strings"

	"postrider/subscriptions"
)

// publishData is the form for a test message, as it was filled in.
type publishData struct {
	Name, Project, Path         string
	Data, Attributes, Key, Form string
	Problem                     string
	ID                          string // of the message that has just been published
}

// publishing is the form.
func (s *Site) publishing(r *http.Request) (page, error) {
	name := topicIn(r)
	if _, err := s.backend.GetTopic(r.Context(), name); err != nil {
		return page{}, err
	}
	d := publishData{Name: name.ID, Project: name.Project, Path: topicPath(name)}
	if id, err := subscriptions.ParseMessageID(r.URL.Query().Get("id")); err == nil {
		d.ID = id.String()
	}
	return page{title: "Publish to " + name.ID, name: "publish", data: d}, nil
}

// publish publishes what the form has. What is wrong with it is said in the form, which keeps what was typed.
func (s *Site) publish(w http.ResponseWriter, r *http.Request) {
	if err := r.ParseForm(); err != nil {
		s.fail(w, r, unreadable(err))
		return
	}
	name, f := topicIn(r), r.PostForm
	d := publishData{
		Name: name.ID, Project: name.Project, Path: topicPath(name),
		Data: f.Get("data"), Attributes: f.Get("attributes"), Key: f.Get("key"), Form: f.Get("form"),
	}
	m, err := d.message()
	var ids []subscriptions.MessageID
	if err == nil {
		ids, err = s.backend.Publish(r.Context(), name, []subscriptions.Message{m})
	}
	if err != nil {
		p := page{title: "Publish to " + name.ID, name: "publish"}
		p.status, d.Problem = s.options.Explain(r.Context(), err)
		p.data = d
		s.render(w, r, p)
		return
	}
	http.Redirect(w, r, topicPath(name)+"/publish?done=published&id="+ids[0].String(), http.StatusSeeOther)
}

// message is what the form describes. Browsers end lines with CR LF in a form, which nobody typed.
func (d publishData) message() (subscriptions.Message, error) {
	m := subscriptions.Message{Data: []byte(strings.ReplaceAll(d.Data, "\r\n", "\n")), OrderingKey: d.Key}
	if d.Form == "base64" {
		data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(d.Data), ""))
		if err != nil {
			return m, subscriptions.WrapError(err, subscriptions.InvalidArgument, "Data: is not base64")
		}
		m.Data = data
	}
	for line := range strings.Lines(d.Attributes) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) == "" {
			continue
		}
		key, value, found := strings.Cut(line, "=")
		if !found {
			return m, subscriptions.Errorf(subscriptions.InvalidArgument, "Attributes: %q is not of the form NAME=VALUE", line)
		}
		if m.Attributes == nil {
			m.Attributes = map[string]string{}
		}
		key = strings.TrimSpace(key)
		if _, twice := m.Attributes[key]; twice {
			return m, subscriptions.Errorf(subscriptions.InvalidArgument, "Attributes: %q is there twice", key)
		}
		m.Attributes[key] = value
	}
	return m, nil
}
