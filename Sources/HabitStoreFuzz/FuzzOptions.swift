import HabitStoreTesting

/// What was asked for on the command line.
struct FuzzOptions: Sendable {
    /// The data to ask about.
    enum DataChoice: String, CaseIterable, Sendable {
        case livedIn = "lived-in"
        case specimens
        case both
    }

    /// An argument that is not understood.
    struct Wrong: Error {
        let message: String
    }

    var extent = QueryFuzz.Extent.queries(20_000)
    var seed: UInt64 = 1
    var first = 0
    var data = DataChoice.both
    var jobs = 1
    var fixture = "fixtures/lived-in.sqlite"
    var disagreements = 1
    var showsHelp = false

    static let help = """
        usage: habitstore-fuzz [--seconds N | --queries N] [options]

          --seconds N     ask for so long
          --queries N     ask so many queries (20000 when neither is given)
          --seed S        the seed from which all queries follow (1)
          --first N       begin with the query of this number, to see one again (0)
          --data D        lived-in, specimens or both (both)
          --fixture FILE  the lived-in store (fixtures/lived-in.sqlite)
          --find N        stop at the Nth disagreement (1)
          --jobs N        threads, each with stores and a seed of its own (1)
        """

    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        while let argument = rest.popFirst() {
            if argument == "--help" || argument == "-h" {
                showsHelp = true
                continue
            }
            guard let value = rest.popFirst() else { throw Wrong(message: "\(argument) needs a value") }
            switch argument {
            case "--seconds": extent = .seconds(try Self.number(argument, value, Double.init, atLeast: 0))
            case "--queries": extent = .queries(try Self.number(argument, value, { Int($0) }, atLeast: 0))
            case "--seed": seed = try Self.number(argument, value, { UInt64($0) }, atLeast: 0)
            case "--first": first = try Self.number(argument, value, { Int($0) }, atLeast: 0)
            case "--jobs": jobs = try Self.number(argument, value, { Int($0) }, atLeast: 1)
            case "--find": disagreements = try Self.number(argument, value, { Int($0) }, atLeast: 1)
            case "--fixture": fixture = value
            case "--data":
                guard let choice = DataChoice(rawValue: value) else {
                    throw Wrong(message: "--data is lived-in, specimens or both, and not \(value)")
                }
                data = choice
            default: throw Wrong(message: "there is no option \(argument)")
            }
        }
        guard jobs <= 64 else { throw Wrong(message: "--jobs is 64 at most") }
    }

    private static func number<T: Comparable>(
        _ argument: String,
        _ text: String,
        _ parse: (String) -> T?,
        atLeast least: T
    ) throws -> T {
        guard let number = parse(text), number >= least else {
            throw Wrong(message: "\(argument) needs a number of \(least) at least, and not \(text)")
        }
        return number
    }
}
