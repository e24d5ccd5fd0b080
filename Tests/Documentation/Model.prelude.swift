@Model struct Notebook {
    var name: String
}
