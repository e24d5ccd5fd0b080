import FeatureFlags
import Foundation

extension EvaluationContext {
    /// Parses a context from a JSON object. A string `targetingKey` is the targeting key; all other members are attributes.
    ///
    /// - Throws: A ``FlagError`` with ``FlagError/Code/invalidContext`` if it is not a JSON object.
    public init(json: Data) throws(FlagError) {
        var warnings = FlagWarningList()
        let node: JSONNode
        do throws(FlagError) {
            node = try JSONParser.parse(SourceText(bytes: Array(json), name: "context"), warnings: &warnings)
        } catch {
            throw FlagError(.invalidContext, "the context is not JSON: \(error.message)", at: error.location)
        }
        if let number = node.unusableNumber {
            let source = try SourceText(bytes: Array(json), name: "context")
            let place = source.location(at: number.range.lowerBound)
            throw FlagError(.invalidContext, JSONNode.unusableNumberMessage, at: place)
        }
        guard case .object(var attributes) = node.flagValue else {
            throw FlagError(.invalidContext, "the context must be a JSON object, as {\"targetingKey\": \"ada\"}")
        }
        if case .string(let key)? = attributes["targetingKey"] {
            attributes.removeValue(forKey: "targetingKey")
            self.init(targetingKey: key, attributes: attributes)
        } else {
            self.init(attributes: attributes)
        }
    }
}
