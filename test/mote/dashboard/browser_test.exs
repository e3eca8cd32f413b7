defmodule Mote.Dashboard.BrowserTest do
  # The page in a browser without a window, where there is one: `apt-get install chromium`.
  use ExUnit.Case, async: true
  import Mote.Eventually

  alias Mote.{Actors, Chromium, Dashboard, Holders, Peek}
  alias Mote.Dashboard.JSON

  @moduletag skip: Chromium.executable() == nil and "Chromium is not installed"
  @moduletag :tmp_dir

  if Chromium.executable() == nil,
    do: IO.puts("The page of Mote.Dashboard is not tested in a browser: Chromium is not installed.")

  test "shows a machine, leads to an actor, traces, pauses and steps", %{tmp_dir: folder} do
    machine = start_supervised!({Mote, name: Mote.DashboardTest.Shown, sponsors: [main: [threads: 1]]})
    counter = Mote.create(machine, Actors.counter(41))
    holder = Mote.create(machine, Holders.holder([counter, "<b>not bold</b>"]))
    url = Dashboard.url(start_supervised!({Dashboard, machine: machine}))
    browser = Chromium.open(url, folder)

    text = fn id -> Chromium.run(browser, "document.getElementById('#{id}')?.textContent") end
    click = fn id -> Chromium.run(browser, "document.getElementById('#{id}').click()") end
    # The first link of a list whose text has a part.
    follow = fn list, part ->
      link =
        "[...document.querySelectorAll('##{list} .link')].find((link) => link.textContent.includes('#{part}'))"

      Chromium.run(browser, "(#{link}).click()")
    end

    assert eventually(fn -> text.("state") == "running" end)
    assert text.("name") == "Mote.DashboardTest.Shown"
    assert eventually(fn -> text.("sponsors") =~ ":main" end)

    click.("survey")
    assert eventually(fn -> text.("behaviours") =~ "Mote.Holders.holder/1" end)
    Chromium.run(browser, "document.getElementById('by').value = 'bytes'")
    follow.("behaviours", "Holders.holder")

    assert eventually(fn ->
             text.("of-name") == "of Mote.Holders.holder/1" and text.("actors") =~ "#Mote.Address"
           end)

    follow.("actors", "#Mote.Address")
    # What is written in a state is text, not a part of the page.
    assert eventually(fn -> text.("captures") =~ "<b>not bold</b>" end)
    assert Chromium.run(browser, "document.querySelectorAll('#captures b').length") == "0"
    assert eventually(fn -> text.("graph") =~ "Actors.counter/1" end)

    Chromium.run(
      browser,
      "document.querySelectorAll('#graph g[role=button]')[0].dispatchEvent(new Event('click'))"
    )

    assert eventually(fn ->
             text.("actor-behaviour") == "Mote.Actors.counter/1" and text.("captures") == "41"
           end)

    click.("trace")
    assert eventually(fn -> text.("trace") == "Stop" end)
    Mote.send(counter, {:add, 1})
    assert eventually(fn -> text.("turns") =~ "Mote.Actors.counter(41) <- {:add, 1}" end)

    click.("pause")
    assert eventually(fn -> text.("state") == "paused" and text.("pause") == "Resume" end)
    assert Mote.info(machine).paused
    Mote.send(counter, {:add, 2})
    click.("step")
    assert eventually(fn -> text.("turns") =~ "Mote.Actors.counter(42) <- {:add, 2}" end)
    click.("pause")
    assert eventually(fn -> text.("state") == "running" end)
    refute Mote.info(machine).paused
    assert text.("error") == ""
    # Nothing else holds it.
    assert %{sponsor: :main} = Mote.info(holder)

    :ok = stop_supervised(Mote.DashboardTest.Shown)
    assert eventually(fn -> text.("state") == "stopped" end)
    Chromium.close(browser)
  end

  test "is the same as a widget, whose process it asks", %{tmp_dir: folder} do
    machine = start_supervised!({Mote, name: Mote.DashboardTest.Widget, sponsors: [main: [threads: 1]]})
    counter = Mote.create(machine, Actors.counter(41))
    kino = Mote.Kino.new(machine)
    nil = Kino.Test.connect(kino, nil, 20_000)
    browser = Chromium.open("about:blank", folder)
    "undefined" = Chromium.run(browser, livebook())
    text = fn id -> Chromium.run(browser, "document.getElementById('#{id}')?.textContent") end
    # What the page has asked meanwhile is answered, and then looked at.
    soon = fn condition -> eventually(fn -> answer(browser, kino) && condition.() end) end

    soon.(fn -> text.("state") == "running" end)
    assert text.("name") == "Mote.DashboardTest.Widget"
    assert Chromium.run(browser, "styles") == "main.css"
    Chromium.run(browser, "document.getElementById('survey').click()")
    soon.(fn -> text.("behaviours") =~ "Mote.Actors.counter/1" end)
    Chromium.run(browser, "document.querySelector('#behaviours .link').click()")
    soon.(fn -> text.("of-name") == "of Mote.Actors.counter/1" end)
    Chromium.run(browser, "document.getElementById('pause').click()")
    soon.(fn -> text.("state") == "paused" end)
    assert Mote.info(machine).paused
    assert Mote.info(counter).sponsor == :main
    Chromium.close(browser)
  end

  # What Livebook gives to a widget: a place for its elements, and events in both directions.
  defp livebook do
    {:ok, files} =
      :erl_tar.extract(String.to_charlist(Mote.Kino.__assets_info__().archive_path), [:memory, :compressed])

    {_, script} = List.keyfind(files, ~c"main.js", 0)

    """
    (() => {
      window.sent = [];
      window.handlers = {};
      const bytes = Uint8Array.from(atob("#{Base.encode64(script)}"), (char) => char.charCodeAt(0));
      const url = URL.createObjectURL(new Blob([bytes], { type: "text/javascript" }));
      return import(url).then(({ init }) => init({
        root: document.body,
        importCSS: (name) => { window.styles = name; },
        pushEvent: (name, payload) => sent.push([name, payload]),
        handleEvent: (name, handler) => { handlers[name] = handler; },
      }));
    })()
    """
  end

  defp answer(browser, kino) do
    for [name, payload] <- Peek.JSON.decode!(Chromium.run(browser, "JSON.stringify(sent.splice(0))")) do
      Kino.Test.push_event(kino, name, payload)
      assert_receive {:event, event, answer, _}
      json = answer |> JSON.encode() |> IO.iodata_to_binary() |> Base.encode64()
      Chromium.run(browser, ~s|handlers["#{event}"](JSON.parse(decodeURIComponent(escape(atob("#{json}")))))|)
    end
  end
end
