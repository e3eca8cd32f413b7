if Code.ensure_loaded?(Kino.JS.Live) do
  defmodule Mote.Kino do
    @moduledoc """
    A live view of a machine in a [Livebook](https://livebook.dev) notebook: the page of `Mote.Dashboard`, as a widget.

    This module is there if [Kino](https://hex.pm/packages/kino) is. A notebook asks for both in its setup cell, and shows
    the widget where a cell returns it:

        Mix.install([{:mote, "~> 0.1"}, {:kino, "~> 0.14"}])

        {:ok, machine} = Mote.start_link()
        Mote.Kino.new(machine)

    The widget shows what the page in the browser shows, and costs the same: once a second it reads counters, while it is in
    view. Everything else happens when somebody clicks. It needs neither a port nor a token. Whoever may open the notebook
    sees the machine, and can pause it.

    It ends when its cell is evaluated again, and when the notebook ends. A machine that it has paused stays paused until
    `Mote.resume/1`.
    """

    use Kino.JS
    use Kino.JS.Live

    alias Mote.Dashboard.{Page, Router}

    asset("main.js", do: Page.widget())
    asset("main.css", do: Page.style())

    @doc """
    Returns a widget of a machine, which Livebook shows as the result of a cell.

    The machine need not be running yet. Under the name of a machine the widget shows the one that a supervisor starts in
    its place. Raises `ArgumentError` for what cannot be a machine.

        Mote.Kino.new(MyApp.Mote)
    """
    @spec new(Mote.Machine.t()) :: Kino.JS.Live.t()
    def new(machine) do
      # Raises for what cannot be a machine; whether it runs is what the widget says.
      _running_or_not = Mote.Machine.fetch(machine)
      Kino.JS.Live.new(__MODULE__, machine)
    end

    @impl Kino.JS.Live
    def init(machine, ctx), do: {:ok, assign(ctx, context: Router.context(machine))}

    @impl Kino.JS.Live
    def handle_connect(ctx), do: {:ok, nil, ctx}

    @impl Kino.JS.Live
    def handle_event("ask", %{"number" => number} = asked, ctx) do
      %{"method" => method, "path" => path, "params" => params} = asked
      {status, _headers, body} = Router.answer(method, path, params, ctx.assigns.context)
      answer = %{number: number, ok: status == 200, text: IO.iodata_to_binary(body)}
      send_event(ctx, ctx.origin, "answer", answer)

      # What was asked by hand may have been about many actors, and these live until this process has let go of them.
      if path != "data", do: :erlang.garbage_collect()
      {:noreply, ctx}
    end
  end
end
