defmodule FileIndexerTest do
  use ExUnit.Case, async: true

  @tag :tmp_dir
  test "every file of a tree is hashed, and what cannot be read is told", %{tmp_dir: root} do
    files =
      for folder <- ["", "a", "a/b", "c"], n <- 1..3, into: %{} do
        path = Path.join(folder, "file#{n}")
        text = String.duplicate("#{path} ", n * 20_000)
        full = Path.join(root, path)
        File.mkdir_p!(Path.dirname(full))
        File.write!(full, text)
        {path, {:ok, byte_size(text), :crypto.hash(:sha256, text)}}
      end

    File.ln_s!(root, Path.join(root, "circle"))
    {:ok, machine} = Mote.start_link(sponsors: [main: [], io: [beam: true, max_concurrency: 4]])
    assert {:ok, %{files: ^files, errors: []}} = FileIndexer.index(machine, root)

    assert {:ok, %{files: none, errors: [{"", :enoent}]}} =
             FileIndexer.index(machine, Path.join(root, "nowhere"))

    assert none == %{}
  end
end
