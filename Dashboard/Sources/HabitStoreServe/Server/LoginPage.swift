/// What the form for the token shows.
struct LoginPage {
    let title = "HabitStore: the token"
    let problem: String?
}
