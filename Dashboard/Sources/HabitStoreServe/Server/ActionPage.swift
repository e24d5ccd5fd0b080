/// The contents of the page with the actions.
struct ActionPage {
    struct Form {
        let verb: String
        let className: String
        let title: String
        let what: String
        let button: String
        let asked: String
        let expected: String
        let by: String
        let because: String
    }

    let title: String
    let fleetName: String
    let sentence: String
    let problem: String?
    let isOn: Bool
    let canLeave: Bool
    let forms: [Form]
}
