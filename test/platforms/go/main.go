// The client of MCP's Go SDK: does what sdks.mjs asks of each SDK, and prints what came of it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r.Header.Set("Authorization", k.key)
	return http.DefaultTransport.RoundTrip(r)
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func textOf(result *mcp.CallToolResult) string {
	return result.Content[0].(*mcp.TextContent).Text
}

func main() {
	url, key, version := os.Args[1], os.Args[2], os.Args[3]
	ctx := context.Background()
	client := mcp.NewClient(&mcp.Implementation{Name: "go", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, _ *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"response": "blue"}}, nil
		},
	})
	transport := &mcp.StreamableClientTransport{Endpoint: url, HTTPClient: &http.Client{Transport: withKey{key}}}
	session := must(client.Connect(ctx, transport, &mcp.ClientSessionOptions{ProtocolVersion: version}))
	defer session.Close()
	call := func(ctx context.Context, tool string, input map[string]any) (*mcp.CallToolResult, error) {
		return session.CallTool(ctx, &mcp.CallToolParams{Name: "sdk__" + tool, Arguments: input})
	}
	tools := 0
	for _, err := range session.Tools(ctx, nil) {
		if err != nil {
			panic(err)
		}
		tools++
	}
	resource := must(session.ReadResource(ctx, &mcp.ReadResourceParams{URI: "test://static-text"}))
	prompt := must(session.GetPrompt(ctx, &mcp.GetPromptParams{Name: "sdk__test_simple_prompt"}))
	said := must(call(ctx, "test_simple_text", nil))
	asked := must(call(ctx, "test_elicitation", map[string]any{"message": "Which colour?"}))
	leaves, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := call(leaves, "slow_compute", map[string]any{"seconds": 20, "label": "go"})
	out := map[string]any{
		"revision": session.InitializeResult().ProtocolVersion,
		"tools":    tools > 10,
		"called":   textOf(said),
		"read":     resource.Contents[0].Text,
		"prompt":   prompt.Messages[0].Content.(*mcp.TextContent).Text,
		"asked":    textOf(asked),
		"left":     err != nil,
	}
	fmt.Println(string(must(json.Marshal(out))))
}
