// Package wire is the JSON of the REST interface: protobuf's mapping, as strict as protobuf's own reader.
//
// The generated types of server/api use the types of this package for what JSON has no type for. Codec reads and writes them:
//
//	runtime.SetJSONCodec(wire.Codec{})
//
// Reading follows protobuf's JSON mapping and refuses all else: field names in lowerCamelCase or snake_case, each at most
// once; null as absent, except inside arrays and maps; integers as numbers or strings; enums by name or number; the keys of
// maps as they are. What is wrong with a body is told by an *Error. encoding/json is not used, since it accepts wrong case,
// repeated names and invalid UTF-8. server/conformance compares the two readers.
//
// Writing leaves out empty fields and escapes nothing but what JSON requires. The strict server's generated answers do not
// ask the codec: they use encoding/json, which is right for these types too, but escapes <, > and &, and is slower. A strict
// middleware gets around it by writing the answer itself:
//
//	func plainJSON(next api.StrictHandlerFunc, _ string) api.StrictHandlerFunc {
//		return func(ctx context.Context, w http.ResponseWriter, r *http.Request, request any) (any, error) {
//			response, err := next(ctx, w, r, request)
//			if err != nil || !wire.Encodes(response) {
//				return response, err
//			}
//			return nil, wire.WriteJSON(w, http.StatusOK, response)
//		}
//	}
//
// Every answer that Encodes accepts has status 200; errors are wrapped in structs that it does not.
package wire
