defmodule Mote.ReloadTest do
  # Not async: it changes an option of the compiler, and `Mote.Reload` looks at all machines of the node.
  use ExUnit.Case, async: false

  @moduletag capture_log: true

  import ExUnit.CaptureLog

  alias Mote.Reload

  setup do
    Code.put_compiler_option(:ignore_module_conflict, true)
    on_exit(fn -> Code.put_compiler_option(:ignore_module_conflict, false) end)
    name = "Mote.ReloadTest.Module#{System.unique_integer([:positive])}"
    compile = fn body -> Code.compile_string("defmodule #{name} do use Mote.Behaviour; #{body} end") end
    [{module, _}] = compile.("defactor counter(n), do: ({c, :read} -> send c, {1, n})")
    {:ok, compile: compile, module: module}
  end

  @second "defactor counter(n), do: ({c, :read} -> send c, {2, n})"

  test "machines have what was compiled again, and say so in a line", %{compile: compile, module: module} do
    [one, other, none] = for id <- 1..3, do: start_supervised!({Mote, name: :"#{__MODULE__}.#{id}"}, id: id)
    actors = for machine <- [one, other], do: Mote.create(machine, module.counter(5))
    start_supervised!(Reload)
    compile.(@second)
    log = capture_log(fn -> Reload.look() end)

    for name <- [one, other],
        do:
          assert(
            log =~
              "#{inspect(module)} was compiled again: the machine #{inspect(Mote.Machine.Table.name(name))} runs it"
          )

    refute log =~ inspect(Mote.Machine.Table.name(none))
    for actor <- actors, do: assert(Mote.ask!(actor, :read) == {2, 5})
    assert capture_log(fn -> Reload.look() end) == ""
  end

  test "looks by itself, and not at what went", %{compile: compile, module: module} do
    machine = start_supervised!(Mote)
    actor = Mote.create(machine, module.counter(5))
    start_supervised!(Reload)
    compile.(@second)
    Mote.Eventually.eventually(fn -> Mote.ask!(actor, :read) == {2, 5} end)
    :code.purge(module)
    :code.delete(module)
    assert Reload.look() == :ok
    assert Mote.ask!(actor, :read) == {2, 5}
  end

  test "misses no version, whatever is there when it looks", %{compile: compile, module: module} do
    machine = start_supervised!(Mote)
    actor = Mote.create(machine, module.counter(5))
    start_supervised!(Reload)
    :code.purge(module)
    :code.delete(module)
    Reload.look()
    compile.(@second)
    Reload.look()
    assert Mote.ask!(actor, :read) == {2, 5}

    # A version that needs a module which is not there yet.
    helper = "#{inspect(module)}.Helper"
    compile.("defactor counter(n), do: ({c, :read} -> send c, {3, #{helper}.f(n)})")
    log = capture_log(fn -> for _ <- 1..2, do: Reload.look() end)
    assert [_, _] = String.split(log, "was compiled again, but not loaded: #{helper}, which")
    assert Mote.ask!(actor, :read) == {2, 5}
    Code.compile_string("defmodule #{helper} do use Mote.Behaviour; defpure f(x), do: x + 1 end")
    Reload.look()
    assert Mote.ask!(actor, :read) == {3, 6}
  end

  test "runs where programs are developed, or where it is asked for" do
    assert Reload.children() == []
    Application.put_env(:mote, :reload, true)
    on_exit(fn -> Application.delete_env(:mote, :reload) end)
    assert Reload.children() == [Reload]
    Application.put_env(:mote, :reload, false)
    assert Reload.children() == []
  end
end
