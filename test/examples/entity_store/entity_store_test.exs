defmodule EntityStoreTest do
  use ExUnit.Case, async: true

  setup do
    Process.flag(:trap_exit, true)
    :ok
  end

  @tag :tmp_dir
  test "a store is what it was", %{tmp_dir: folder} do
    {:ok, store} = EntityStore.start_link(folder)
    assert EntityStore.put(store, "anna", %{apples: 3}) == :ok
    assert EntityStore.update(store, "anna", :apples, 2) == {:ok, 5}
    assert EntityStore.update(store, "ben", :apples, 2) == :error
    assert EntityStore.replace(store, "anna", 2, %{pears: 1}) == {:ok, 3}
    assert EntityStore.replace(store, "anna", 2, %{}) == {:changed, %{pears: 1}, 3}
    Process.exit(store, :kill)
    assert_receive {:EXIT, ^store, :killed}
    {:ok, store} = EntityStore.start_link(folder)
    assert EntityStore.get(store, "anna") == {%{pears: 1}, 3}
    assert EntityStore.get(store, "carl") == {nil, 0}
    Mote.stop(store)
  end

  @tag :tmp_dir
  test "what a node had acknowledged is there when it was killed", %{tmp_dir: folder} do
    code = """
    {:ok, store} = EntityStore.start_link(#{inspect(folder)})

    for key <- 1..4 do
      spawn_link(fn ->
        for n <- Stream.iterate(1, &(&1 + 1)) do
          :ok = EntityStore.put(store, key, %{n: n})
          IO.binwrite("\#{key} \#{n}\\n")
          if key == 1 and n == 100, do: System.cmd("kill", ["-9", System.pid()])
        end
      end)
    end

    Process.sleep(:infinity)
    """

    {output, 137} = Mote.OtherBEAM.run(code)
    # The last line may have been cut.
    lines = output |> String.split("\n") |> Enum.drop(-1)

    acknowledged =
      for line <- lines,
          [key, n] = String.split(line),
          into: %{},
          do: {String.to_integer(key), String.to_integer(n)}

    {:ok, store} = EntityStore.start_link(folder)
    assert acknowledged[1] == 100

    for {key, n} <- acknowledged do
      assert {%{n: there}, there} = EntityStore.get(store, key)
      assert there >= n
    end

    Mote.stop(store)
  end
end
