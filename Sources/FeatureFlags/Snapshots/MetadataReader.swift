/// Reads the `metadata` of a flag or of a flag set: texts, numbers and booleans by name. Metadata decides nothing, and
/// so what is wrong with it is a warning and not an error.
enum MetadataReader {
    static func read(
        _ node: JSONNode,
        _ source: SourceText,
        _ warnings: inout FlagWarningList
    ) -> [String: FlagValue] {
        guard case .object(let members) = node.value else {
            warnings.add(
                "the \"metadata\" must be an object; it is ignored",
                source,
                at: node.range.lowerBound
            )
            return [:]
        }
        var metadata: [String: FlagValue] = [:]
        for member in members {
            switch member.value.value {
            case .double(let number) where !number.isFinite:
                let name = quoted(member.key)
                warnings.add(
                    "the metadata \(name) is ignored: \(JSONNode.unusableNumberMessage)",
                    source,
                    at: member.value.range.lowerBound
                )
            case .bool, .int, .double, .string:
                metadata[member.key] = member.value.flagValue
            case .null, .array, .object:
                let name = quoted(member.key)
                warnings.add(
                    "the metadata \(name) must be a string, number or boolean; it is ignored",
                    source,
                    at: member.value.range.lowerBound
                )
            }
        }
        return metadata
    }
}
