/// An input and how it is read.
struct FlagFuzzInput {
    enum Kind: CaseIterable {
        case json
        case yaml
        case rule
    }

    var kind: Kind
    var bytes: [UInt8]
}
